import { postgresPlace } from "bowline/testing";

/** The server that the test has told of, by the environment, which processes of trials get. */
export default postgresPlace(process.env.BOWLINE_TEST_POSTGRES ?? "");
