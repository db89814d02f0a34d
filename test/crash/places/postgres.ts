import { postgresBackend } from "bowline/testing";

/** The server that the test has told of, by the environment, which processes of trials get. */
export default postgresBackend(process.env.BOWLINE_TEST_POSTGRES ?? "");
