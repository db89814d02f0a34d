// The data of the HTTP API, by the names that pages use.
import type { Api } from "bowline/client";

type Item<T> = T extends readonly (infer I)[] ? I : never;
export type SessionSummary = Item<Api["listSessions"]["output"]>;
export type Node = Item<Api["sessionHistory"]["output"]>;
export type TurnRecord = Item<Api["listTurns"]["output"]>;
export type TurnDetails = Api["getTurn"]["output"];
export type TurnTimeline = Api["turnTimeline"]["output"];
export type TimelineItem = Item<TurnTimeline["items"]>;
export type Wait = Item<Api["listWaits"]["output"]>;
export type Job = Item<Api["listJobs"]["output"]>;
export type JobEvent = Item<Api["jobEvents"]["output"]>;
export type Subscription = Item<Api["listTriggers"]["output"]>;
export type Occurrence = Item<Api["listOccurrences"]["output"]>;
export type UsageReport = Api["usage"]["output"];
export type Plugin = Item<Api["sessionPlugins"]["output"]>;
export type Status = Api["status"]["output"];
