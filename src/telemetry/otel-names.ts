// The names of spans, metrics and attributes. The GenAI names of OpenTelemetry are not stable: only this file has them.

export const SPAN = {
  round: "bowline.round",
  hook: "bowline.hook",
  wait: "bowline.wait",
  commit: "bowline.commit",
  job: "bowline.job",
  cell: "bowline.cell",
  store: "bowline.store",
} as const;

/** The first word of a span's name, and the value of `gen_ai.operation.name`. */
export const OPERATION = { turn: "invoke_agent", model: "chat", tool: "execute_tool" } as const;

export const GEN_AI = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  agent: "gen_ai.agent.name",
  conversation: "gen_ai.conversation.id",
  model: "gen_ai.request.model",
  isStream: "gen_ai.request.stream",
  temperature: "gen_ai.request.temperature",
  topP: "gen_ai.request.top_p",
  maxTokens: "gen_ai.request.max_tokens",
  seed: "gen_ai.request.seed",
  finishReasons: "gen_ai.response.finish_reasons",
  firstChunk: "gen_ai.response.time_to_first_chunk",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  tokenType: "gen_ai.token.type",
  tool: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  callId: "gen_ai.tool.call.id",
  arguments: "gen_ai.tool.call.arguments",
  result: "gen_ai.tool.call.result",
  instructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
} as const;

export const ERROR_TYPE = "error.type";
/** Replaces attribute values that are not in a small known set, for metrics. */
export const OTHER = "_OTHER";

export const BOWLINE = {
  turnId: "bowline.turn.id",
  outcome: "bowline.turn.outcome",
  how: "bowline.turn.how",
  isResumed: "bowline.turn.resumed",
  generation: "bowline.turn.generation",
  rounds: "bowline.turn.rounds",
  turnInput: "bowline.turn.input_tokens",
  turnOutput: "bowline.turn.output_tokens",
  model: "bowline.model",
  owner: "bowline.owner",
  metadata: "bowline.metadata.",
  round: "bowline.round.number",
  attempt: "bowline.attempt",
  purpose: "bowline.purpose",
  estimatedInput: "bowline.usage.estimated_input_tokens",
  estimatedOutput: "bowline.usage.estimated_output_tokens",
  toolStatus: "bowline.tool.status",
  toolResumed: "bowline.tool.resumed",
  parentCall: "bowline.tool.parent_call.id",
  hook: "bowline.hook.name",
  plugin: "bowline.plugin",
  hookEvent: "bowline.hook.event",
  waitsFor: "bowline.wait.kind",
  waitId: "bowline.wait.id",
  waitHow: "bowline.wait.how",
  waitBy: "bowline.wait.by",
  waitReason: "bowline.wait.reason",
  code: "bowline.cell.code",
  cellState: "bowline.cell.state",
  jobId: "bowline.job.id",
  jobKind: "bowline.job.kind",
  jobOperation: "bowline.job.operation",
  jobLabel: "bowline.job.label",
  jobState: "bowline.job.state",
  store: "bowline.store.operation",
  /** The span was open when the runtime was closed. */
  isUnended: "bowline.unended",
  /** Why a link exists: `earlier_run` or `traceparent`. */
  link: "bowline.link",
} as const;

export const METRIC = {
  tokens: "gen_ai.client.token.usage",
  model: "gen_ai.client.operation.duration",
  turn: "bowline.turn.duration",
  tool: "bowline.tool.duration",
  store: "bowline.store.duration",
} as const;

/** Bounds of histograms: those that the GenAI conventions recommend, and smaller ones for stores. */
export const TOKEN_BOUNDS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
export const SECOND_BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
export const STORE_BOUNDS = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

const PROVIDERS: { readonly [provider: string]: string } = {
  "amazon-bedrock": "aws.bedrock",
  azure: "azure.ai.openai",
  google: "gcp.gemini",
  "google.generative-ai": "gcp.gemini",
  "google.vertex": "gcp.vertex_ai",
  mistral: "mistral_ai",
  xai: "x_ai",
};
/** The name of a provider in the GenAI conventions. For most providers it is their own name. */
export const providerName = (provider: string): string =>
  Object.hasOwn(PROVIDERS, provider) ? (PROVIDERS[provider] as string) : provider;

const FINISH: { readonly [finish: string]: string } = { calls: "tool_call", refused: "content_filter" };
export const finishName = (finish: string): string => FINISH[finish] ?? finish;
