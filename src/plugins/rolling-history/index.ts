import { compactHistory, definePlugin, type Message, type Services, type StateCell } from "../../plugin.ts";
import { ATTEMPTS, type Cut, cutOf, type Reason, type Room, roomFor } from "./cut.ts";
import { frameOf, Meter, sizeOf } from "./meter.ts";
import { type HistoryState, OPTIONS, type Settings, STATE } from "./options.ts";
import { prune } from "./prune.ts";
import { type Earlier, earlierIn, ID, SEED_TOKENS, seedOf, summarise } from "./summary.ts";
import { tokensIn, tokensOfParts } from "./tokens.ts";

export type { RollingHistoryOptions } from "./options.ts";

export interface HistoryMeasure {
  /** The estimated size of the next request, with its system prompt and its tools. */
  readonly tokens: number;
  /** The size of the model's window, in tokens. */
  readonly window: number;
  /** `tokens` divided by `window`: above 1 the request does not fit. */
  readonly share: number;
}

/**
 * Keeps a conversation within the model's window: first the names of older attachments replace the attachments, then a
 * summary replaces all but the latest messages. The history does not change: pruning changes only a request, and a
 * summary begins a new frame.
 */
export const rollingHistory = definePlugin({
  id: ID,
  options: OPTIONS,
  state: STATE,
  setup: ({ options: settings, query }) => {
    const { window, pruneAt, reserve, keepTurns, auto } = settings;
    const meter = new Meter();
    // Tokens of the conversation after the last compaction, or before the last one that failed. The next compaction
    // waits until the conversation has grown, because each one costs a model call.
    let tried = 0;

    // The messages that are sent.
    const shown = (messages: readonly Message[], { frame, isPruned }: HistoryState): readonly Message[] =>
      isPruned && frameOf(messages) === frame ? prune(messages, keepTurns) : messages;

    // Runs before every model call. It decides from state, so a turn that resumes after a crash decides the same,
    // except that the last measurement is missing.
    const look = ({ session, state }: Looking) => {
      const { messages } = session.read();
      const frame = frameOf(messages);
      const saved = meter.correct(state.get(), frame, window / 50);
      const isFull = sizeOf(messages, saved) >= pruneAt * window && prune(messages, keepTurns) !== messages;
      const isNew = isFull && shown(messages, saved) === messages;
      const next = isNew ? { ...saved, frame, error: saved.frame === frame ? saved.error : 0, isPruned: true } : saved;
      if (next !== state.get()) state.update(() => next);
      return auto && needsRoom(messages, next) ? compactHistory() : undefined;
    };

    const needsRoom = (messages: readonly Message[], saved: HistoryState): boolean => {
      if (sizeOf(shown(messages, saved), saved) <= window - reserve) {
        tried = 0;
        return false;
      }
      const conversation = tokensIn(messages);
      return conversation > CONVERSATION_MIN && (tried === 0 || conversation > tried + window / 32);
    };

    return {
      beforeTurn: look,
      checkpoint: look,
      // Late, so that the measured request includes the changes of other plugins.
      request: {
        order: "late",
        run: ({ request, session, state }) => {
          const { messages } = session.read();
          const isPruned = shown(messages, state.get()) !== messages;
          const sent = isPruned ? { ...request, messages: prune(request.messages, keepTurns) } : request;
          meter.sent(request, sent, messages);
          return sent === request ? undefined : sent;
        },
      },
      response: ({ reply }) => meter.replied(reply),
      compact: async ({ messages, reason, attempt, instructions, complete, state, signal }) => {
        tried = tokensIn(messages);
        const plan = planOf(messages, reason, attempt, settings, state.get().around);
        if (plan === undefined) return;
        const { at, from, room, earlier, request } = plan;
        const work = { earlier, messages: messages.slice(from, at), tokens: room.summary, settings, instructions };
        const seed = seedOf(await summarise(complete, work, signal), request, room.last);
        tried = tokensOfParts(seed.parts) + tokensIn(messages.slice(at));
        const tail = messages[at]?.id;
        return tail === undefined ? { seed: [seed] } : { seed: [seed], tail };
      },
      operations: {
        measure: query({
          description: "How much of the window the next request takes, about.",
          run: ({ session, state }): HistoryMeasure => {
            const { messages } = session.read();
            const saved = meter.correct(state.get(), frameOf(messages), 0);
            const tokens = Math.max(0, Math.round(sizeOf(shown(messages, saved), saved)));
            return { tokens, window, share: tokens / window };
          },
        }),
      },
    };
  },
});

interface Looking {
  readonly session: Services["session"];
  readonly state: StateCell<HistoryState>;
}

interface Plan extends Cut {
  readonly earlier: Earlier | undefined;
  /** The index of the first message that is summarised. */
  readonly from: number;
  readonly room: Room;
}

/** In tokens. The summary of a shorter conversation would not be shorter than it. */
const CONVERSATION_MIN = 400;

/**
 * Where to cut, and how long the summary can be. Undefined if the summary could be as long as the replaced messages.
 */
function planOf(
  messages: readonly Message[],
  reason: Reason,
  first: number,
  settings: Settings,
  around: number,
): Plan | undefined {
  const conversation = tokensIn(messages);
  if (conversation <= CONVERSATION_MIN) return undefined;
  const earlier = earlierIn(messages);
  const from = earlier === undefined ? 0 : earlier.at + 1;
  // After an overflow the turn cannot continue without room, so the smaller attempts are tried at once.
  const last = reason === "overflow" ? ATTEMPTS : first;
  for (let attempt = first; attempt <= last; attempt++) {
    const room = roomFor(settings, { conversation, around }, reason, attempt);
    const cut = cutOf(messages, from, room, earlier?.request);
    const replaced = tokensIn(messages.slice(0, cut.at)) - Math.min(tokensOfParts(cut.request), room.last);
    if (cut.at > from && replaced > room.summary + SEED_TOKENS) return { ...cut, earlier, from, room };
  }
  return undefined;
}
