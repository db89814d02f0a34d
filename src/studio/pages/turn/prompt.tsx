// What the model was shown in each round besides the conversation, and what changed since the round before.
import type { JSX } from "preact";
import { jsonOf } from "../../format.ts";
import { Code, Empty, Text } from "../../parts/basics.tsx";
import { Diff } from "../../parts/diff.tsx";
import { useKeys } from "../../parts/keys.tsx";
import { route, setQuery } from "../../router.ts";
import type { TurnTimeline } from "../../types.ts";

type Round = TurnTimeline["rounds"][number];

export function Prompts({ timeline: { rounds } }: { readonly timeline: TurnTimeline }): JSX.Element {
  const { round: wanted, show } = route.value.query;
  const at = Math.max(
    0,
    rounds.findIndex(({ round }) => String(round) === wanted),
  );
  const move = (step: number): void => {
    const next = rounds[at + step];
    if (next !== undefined) setQuery({ round: String(next.round) });
  };
  useKeys([
    { keys: "j", name: "Next round", run: () => move(1) },
    { keys: "k", name: "Previous round", run: () => move(-1) },
  ]);
  const round = rounds[at];
  if (round === undefined) return <Empty title="The model was not called yet." />;
  const before = rounds[at - 1];
  const isDiff = show === "changes" && before !== undefined;
  return (
    <div class="scrolls">
      <div class="tools">
        <label>
          Round{" "}
          <select value={round.round} onChange={({ currentTarget }) => setQuery({ round: currentTarget.value })}>
            {rounds.map((each) => (
              <option key={each.round} value={each.round}>
                {each.round}
              </option>
            ))}
          </select>
        </label>
        {before !== undefined && (
          <div class="choices" role="group" aria-label="Show">
            <button type="button" aria-pressed={!isDiff} onClick={() => setQuery({ show: "" })}>
              Whole
            </button>
            <button type="button" aria-pressed={isDiff} onClick={() => setQuery({ show: "changes" })}>
              Changes since round {before.round}
            </button>
          </div>
        )}
      </div>
      {isDiff ? <Changes round={round} before={before} /> : <Whole round={round} />}
    </div>
  );
}

function Changes({ round, before }: { readonly round: Round; readonly before: Round }): JSX.Element {
  const named = ({ tools = [] }: Round): string => jsonOf(Object.fromEntries(tools.map((tool) => [tool.name, tool])));
  return (
    <>
      <h2>System prompt</h2>
      <Diff before={before.prompt ?? ""} after={round.prompt ?? ""} />
      <h2>After the conversation</h2>
      <Diff before={before.tail ?? ""} after={round.tail ?? ""} />
      <h2>Tools</h2>
      <Diff before={named(before)} after={named(round)} />
    </>
  );
}

function Whole({ round: { prompt, parts = [], tools = [], tail } }: { readonly round: Round }): JSX.Element {
  const shownParts = parts.filter(({ text }) => text !== "");
  return (
    <>
      <h2>System prompt</h2>
      {prompt === undefined || prompt === "" ? <p class="dim">None.</p> : <Code value={prompt} label="System prompt" />}
      {tail !== undefined && (
        <>
          <h2>After the conversation</h2>
          <Code value={tail} label="After the conversation" />
        </>
      )}
      {shownParts.length > 0 && (
        <>
          <h2>Parts of the prompt</h2>
          <div class="folds">
            {shownParts.map(({ slot, title, text, isVolatile }, nth) => (
              <details key={nth}>
                <summary>
                  <strong>
                    <Text>{title ?? slot}</Text>
                  </strong>
                  <span class="dim">
                    {title !== undefined && `${slot} · `}
                    {text.length} characters{isVolatile && " · renewed each round"}
                  </span>
                </summary>
                <Code value={text} label={title ?? slot} />
              </details>
            ))}
          </div>
        </>
      )}
      <h2>Tools ({tools.length})</h2>
      <div class="folds">
        {tools.map(({ name, description, inputSchema, outputSchema }) => (
          <details key={name}>
            <summary>
              <strong>
                <Text>{name}</Text>
              </strong>
              <span class="dim">
                <Text>{description.split("\n")[0] ?? ""}</Text>
              </span>
            </summary>
            <Code value={description} label="Description" />
            <Code value={inputSchema} label="Arguments" />
            {outputSchema !== undefined && <Code value={outputSchema} label="Result" />}
          </details>
        ))}
      </div>
    </>
  );
}
