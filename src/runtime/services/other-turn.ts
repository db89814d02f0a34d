import type { SessionTurn, SessionTurnOptions, TurnEnd } from "../../kernel/session-requests.ts";
import { unwaited } from "../../model/awaitable.ts";
import type { TurnProgress } from "../../model/event.ts";
import { asSessionId } from "../../model/ids.ts";
import type { Input } from "../../model/input.ts";
import { frozen } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import { textOf } from "../../model/outcome.ts";
import { requireOptions } from "../checks.ts";
import type { TurnHandle } from "../live-turn/handle.ts";
import { requireStored } from "./reading.ts";
import type { ServiceContext } from "./service-context.ts";
import { requireBelow, unlessClosed } from "./using.ts";

const TURN: Known<SessionTurnOptions> = { key: true, output: true, signal: true, extensions: true };

/**
 * A turn of another session, for a plugin. Its session stays open until the turn has ended, its reader has left, or
 * `sessions.close` releases it. A handle that the plugin never reads does not keep it open longer.
 */
export function otherTurn(
  { core, session }: ServiceContext,
  id: string,
  input: Input,
  options: SessionTurnOptions,
  key: string | undefined,
): SessionTurn {
  let leave = (): void => {};
  const begun = unwaited(() =>
    unlessClosed(core, async () => {
      requireOptions("sessions.turn", options, TURN);
      await requireStored(core, id);
      const otherSession = await core.sessions.hold(asSessionId(id));
      leave = () => void otherSession.close();
      const turn = otherSession.turn(input, { ...options, key }) as TurnHandle;
      void turn.result(false).then(leave, leave);
      return turn;
    }),
  );
  const mayWait = (): Promise<void> => requireBelow(core, session.id, id, "A turn of sessions.turn");
  const result = (): Promise<TurnEnd> =>
    unwaited(() =>
      unlessClosed(core, async () => {
        await mayWait();
        return frozen(await (await begun).result());
      }),
    );
  return {
    get id() {
      return unwaited(async () => (await begun).id);
    },
    result,
    text: () => unwaited(async () => textOf(await result())),
    cancel: (reason) => unwaited(async () => (await begun).cancel(reason)),
    [Symbol.asyncIterator]: () => {
      let reading: Promise<AsyncIterator<TurnProgress>> | undefined;
      const read = async (): Promise<AsyncIterator<TurnProgress>> => {
        await mayWait();
        return (await begun)[Symbol.asyncIterator]();
      };
      return {
        next: () =>
          unwaited(() =>
            unlessClosed(core, async () => {
              reading ??= read();
              return frozen(await (await reading).next());
            }),
          ),
        return: async () => {
          leave();
          await (await reading)?.return?.();
          return { value: undefined, done: true };
        },
      };
    },
  };
}
