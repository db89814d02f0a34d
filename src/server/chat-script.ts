/**
 * The script of the chat page, for browsers. It inserts text of models and tools only as text nodes. The script must
 * not contain `${` or a backtick.
 */
export const CHAT_SCRIPT: string = String.raw`
import { createClient } from "/client.js";

const byId = (id) => document.getElementById(id);
const [status, list, talk, say, words, cancel, login, token, menu] =
  ["status", "list", "talk", "say", "words", "cancel", "login", "token", "menu"].map(byId);

let client = createClient({ url: location.origin });
let session; // the id of the one that is shown
let leaving; // closes the stream of that session
let view;
let last; // how its latest turn ended, unless with an answer
let problem = ""; // a problem of the connection or of a request
let unsent = {}; // the key of a message whose answer was lost

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

const idInHash = () => decodeURIComponent(location.hash.slice(1));
const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");

// Control characters, which a person cannot see, and bidirectional ones, which show text in another order than it has.
const UNSAFE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu;
// Characters without a visible shape: a person who allows a call must see all of it.
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const spelt = (text, which = UNSAFE) =>
  text.replaceAll("\r\n", "\n").replace(which, (each) => "\\u{" + each.codePointAt(0).toString(16) + "}");

// ── What a view shows ──────────────────────────────────────────────────────────────────────────────────────────────

const textOf = (parts) =>
  parts.map((part) => (part.kind === "text" ? part.shown ?? part.text : "[" + (part.name ?? part.mediaType) + "]")).join("\n");

function itemOfPart(key, part, role) {
  switch (part.kind) {
    case "text":
      return { key, kind: "words", role, text: part.shown ?? part.text };
    case "attachment":
      return { key, kind: "words", role, text: "[" + (part.name ?? part.mediaType) + "]" };
    case "reasoning":
      return { key, kind: "folded", role: "reasoning", head: "Thoughts", text: part.text };
    case "toolCall":
      return { key, kind: "folded", role: "call", head: part.name, text: asText(part.input) };
    case "toolResult":
      return { key, kind: "folded", role: "call " + part.status, head: part.name + ": " + part.status, text: textOf(part.parts) };
    case "codeOutput":
      return { key, kind: "folded", role: "call " + part.status, head: "Code: " + part.status, text: textOf(part.parts) };
    default:
      return { key, kind: "words", role, text: "" };
  }
}

const itemsOfMessage = ({ id, role, parts }) => parts.map((part, index) => itemOfPart(id + "/" + index, part, role));

/** A call and its result are one item. */
function itemsOfMessages(messages) {
  const calls = new Map(); // calls without a result, by id
  return messages.flatMap((message) =>
    itemsOfMessage(message).filter((item, index) => {
      const { kind, callId } = message.parts[index];
      if (kind === "toolCall") calls.set(callId, item);
      const call = kind === "toolResult" ? calls.get(callId) : undefined;
      if (call === undefined) return true;
      calls.delete(callId);
      Object.assign(call, { role: item.role, head: item.head, text: call.text + "\n→ " + item.text });
      return false;
    }),
  );
}

function textOfOutput({ kind, value, failure, ...rest }) {
  if (kind === "value") return asText(value);
  return failure?.message ?? asText({ kind, ...rest });
}

function itemOfLive(key, part) {
  if (part.kind === "text") return { key, kind: "words", role: "assistant", text: part.text };
  if (part.kind === "reasoning") return { key, kind: "folded", role: "reasoning", head: "Thoughts", text: part.text };
  const { name, state, status, input, printed, progress, output } = part;
  const text = [asText(input), printed, progress === undefined ? "" : asText(progress)];
  if (output !== undefined) text.push("→ " + textOfOutput(output));
  const now = state === "ended" ? status : state;
  return { key, kind: "folded", role: "call " + now, head: name + ": " + now, text: text.filter(Boolean).join("\n") };
}

const itemOfWait = (wait) => ({ key: "wait/" + wait.id, kind: "wait", role: "wait", wait, text: "" });
const RETRIES = { rate_limit: "it is busy", overloaded: "it is overloaded" };

function itemsOfTurn(turn, path) {
  if (turn.kind === "ended") return [];
  const items = turn.parts.map((part, index) => itemOfLive(path + "/" + index, part));
  for (const [id, child] of Object.entries(turn.children)) {
    items.push({ key: path + "/" + id, kind: "words", role: "note", text: "Session " + id });
    for (const below of child.turns) items.push(...itemsOfTurn(below, path + "/" + id + "/" + below.id));
  }
  if (turn.retrying !== undefined) {
    const why = RETRIES[turn.retrying.class] ?? turn.retrying.class;
    const text = "The model did not answer (" + why + "). Attempt " + (turn.retrying.attempt + 1) + " follows.";
    items.push({ key: path + "/retry", kind: "words", role: "note", text });
  }
  return [...items, ...turn.waits.map(itemOfWait)];
}

/** The messages, then the previews of the running turn, then the waiting inputs. */
function itemsOf({ read, turns, inputs, jobWaits = [] }) {
  const shows = turns.some((turn) => turn.kind === "running" && turn.parts.length > 0);
  const open = (read?.openTurn?.messages ?? []).filter(({ role }) => !shows || role === "user");
  const messages = [...(read?.messages ?? []), ...open].filter(({ role }) => role !== "system");
  const said = new Set(messages.map(({ origin }) => origin?.inputId));
  const waiting = inputs.filter(({ id, message }) => message !== undefined && !said.has(id));
  return [
    ...itemsOfMessages(messages),
    ...turns.flatMap((turn) => itemsOfTurn(turn, turn.id)),
    ...waiting.flatMap(({ id, message }) => itemsOfMessage({ ...message, id })),
    ...jobWaits.map(itemOfWait),
    ...(last === undefined ? [] : [{ key: "last", kind: "words", role: "failed", text: last }]),
  ];
}

// ── Drawing ────────────────────────────────────────────────────────────────────────────────────────────────────────

const shown = new Map(); // element and item by key

function made({ kind, wait }) {
  if (kind === "wait") return waitCard(wait);
  if (kind === "words") return element("p");
  return element("details", "", element("summary"), element("pre"));
}

function update(target, item) {
  const { kind, role, head, text } = item;
  target.className = role;
  if (kind === "words") target.textContent = spelt(text);
  if (kind !== "folded") return;
  target.firstChild.textContent = spelt(head);
  target.lastChild.textContent = spelt(text);
}

const isSame = (a, b) => a.kind === b.kind && a.role === b.role && a.head === b.head && a.text === b.text;

/** Changes only the items that differ, so that open folds and a selection stay. */
function drawItems(items) {
  const keys = new Set(items.map(({ key }) => key));
  for (const [key, { target }] of shown) {
    if (keys.has(key)) continue;
    target.remove();
    shown.delete(key);
  }
  let before = null;
  for (const item of items.toReversed()) {
    let known = shown.get(item.key);
    if (known !== undefined && known.item.kind !== item.kind) {
      known.target.remove();
      known = undefined;
    }
    const target = known?.target ?? made(item);
    if (known === undefined || !isSame(known.item, item)) update(target, item);
    if (target.parentNode !== talk || target.nextSibling !== before) talk.insertBefore(target, before);
    shown.set(item.key, { target, item });
    before = target;
  }
}

let isDue = false;
function draw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    const isAtEnd = talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80;
    const turns = view?.turns ?? [];
    const running = turns.find(({ kind }) => kind === "running");
    const items = view === undefined ? [] : itemsOf(view);
    drawItems(items);
    const isWaiting = items.some(({ kind }) => kind === "wait");
    const isBusy = running !== undefined || view?.read?.openTurn !== undefined || (view?.inputs.length ?? 0) > 0;
    cancel.hidden = !isBusy;
    talk.classList.toggle("new", session === "");
    talk.setAttribute("aria-busy", String(isBusy && !isWaiting));
    status.textContent = problem || (isWaiting ? "Waiting for your answer." : isBusy ? "Working …" : "");
    status.className = problem ? "failed" : "";
    if (isAtEnd) talk.scrollTop = talk.scrollHeight;
  });
}

function failed(error) {
  problem = error?.message ?? String(error);
  if (error?.status === 401) {
    problem = "Open the address that the server printed, or enter its token.";
    login.hidden = false;
    say.hidden = true;
  }
  draw();
}

/** Runs the action of a button, and shows why it failed. */
async function attempt(run) {
  try {
    problem = "";
    return await run();
  } catch (error) {
    failed(error);
  } finally {
    draw();
  }
}

// ── Waits ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function waitCard(wait) {
  const reason = element("p", "", spelt(wait.reason));
  const call = element("pre", "", spelt(wait.call.name + " " + asText(wait.call.input), HIDDEN));
  const card = element("section", "wait", reason, call);
  card.setAttribute("aria-label", "Waiting for an answer: " + wait.call.name);
  const buttons = [];
  const button = (text, answer) => {
    const made = element("button", "", text);
    made.type = "button";
    made.addEventListener("click", () => {
      for (const each of buttons) each.disabled = true;
      void attempt(async () => {
        try {
          await answer();
        } catch (error) {
          for (const each of buttons) each.disabled = false;
          throw error;
        }
      });
    });
    buttons.push(made);
  };
  if (wait.wants === "approval" || wait.wants === "interrupted") {
    button("Approve", () => client.waits.answer(wait.id, { approved: true }));
    button("Deny", () => client.waits.answer(wait.id, { approved: false }));
  } else {
    const field = element("textarea");
    field.setAttribute("aria-label", "Your answer");
    card.append(field);
    button("Answer", () => answerWith(wait.id, field.value));
  }
  card.append(...buttons);
  return card;
}

/** For an answer other than text, the person types JSON. */
async function answerWith(id, text) {
  try {
    await client.waits.answer(id, { value: text });
  } catch (error) {
    if (error.code !== "wait.answer") throw error;
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      throw error;
    }
    await client.waits.answer(id, { value });
  }
}

// ── Sessions ───────────────────────────────────────────────────────────────────────────────────────────────────────

async function drawList() {
  const found = await client.sessions.list({ order: "activity", max: 100 }).catch((error) => {
    if (error.status === 401) failed(error); // Without a session no other request would report this.
  });
  if (found === undefined) return;
  const rows = found.filter(({ parentId }) => parentId === undefined).map(({ id, label, lastWords, state }) => {
    const link = element("a", "", spelt(label ?? lastWords ?? id));
    link.href = "#" + encodeURIComponent(id);
    link.title = id;
    if (id === session) link.setAttribute("aria-current", "page");
    return element("li", state, link);
  });
  list.replaceChildren(...rows);
}

/** Shows how the latest turn ended, because the messages do not contain it. */
async function drawLast(id) {
  const [latest] = await client.turns.list({ session: id, max: 1 });
  if (latest?.outcome !== "failed" && latest?.outcome !== "stopped") return;
  const { outcome } = await client.turns.get(latest.id);
  if (id === session && outcome?.reason !== undefined) last = outcome.reason;
  draw();
}

function noteEnds(now, id) {
  if (id !== session) return;
  const hasEnded = now.turns.some(({ kind }) => kind === "ended");
  // The messages of a turn that has ended come with the next view. Until then its previews stay.
  if (!hasEnded || !now.isBehind) view = now;
  for (const turn of now.turns) {
    if (turn.kind === "running") last = undefined;
    else last = turn.outcome.kind === "failed" || turn.outcome.kind === "stopped" ? turn.outcome.reason : undefined;
  }
  if (hasEnded) void drawList();
  draw();
}

async function open(id) {
  leaving?.abort();
  const { signal } = (leaving = new AbortController());
  if (id !== session) [view, last] = [undefined, undefined];
  session = id;
  problem = "";
  draw();
  void drawList();
  if (id === "") return;
  const onConnection = (lost) => {
    if (signal.aborted) return;
    problem = lost === undefined ? "" : "Not connected. Trying again …";
    draw();
  };
  try {
    const views = client.view(id, { signal, onConnection });
    void drawLast(id).catch(() => {});
    for await (const now of views) noteEnds(now, id);
  } catch (error) {
    if (!signal.aborted && error.code !== "session.unknown") failed(error); // The first message creates the session.
  }
}

/** The session that is shown. The first message creates it. */
async function openedSession() {
  if (view !== undefined) return session;
  const { id } = await client.sessions.create(session === "" ? {} : { id: session, ifExists: "take" });
  if (id === session) void open(id);
  else location.hash = encodeURIComponent(id);
  return id;
}

async function sendWords() {
  const text = words.value.trim();
  if (text === "") return;
  if (unsent.text !== text) unsent = { text, key: Date.now() + "-" + Math.random() };
  words.disabled = true;
  await attempt(async () => {
    await client.send(await openedSession(), text, { key: unsent.key });
    words.value = "";
    unsent = {};
  });
  words.disabled = false;
  words.focus();
}

// ── Begin ──────────────────────────────────────────────────────────────────────────────────────────────────────────

say.addEventListener("submit", (event) => {
  event.preventDefault();
  void sendWords();
});
words.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void sendWords();
});
cancel.addEventListener("click", () => void attempt(() => client.sessions.cancel(session, "The user cancelled.")));
login.addEventListener("submit", (event) => {
  event.preventDefault();
  client = createClient({ url: location.origin, token: token.value });
  token.value = "";
  login.hidden = true;
  say.hidden = false;
  void open(idInHash());
});
menu.addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("menu");
  menu.setAttribute("aria-expanded", String(isOpen));
  void drawList();
});
byId("new").addEventListener("click", () => {
  location.hash = "";
  words.focus();
});
addEventListener("hashchange", () => {
  document.body.classList.remove("menu");
  menu.setAttribute("aria-expanded", "false");
  void open(idInHash());
});
// A browser opens six connections to a server, so hidden tabs close theirs.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") leaving?.abort();
  else if (login.hidden) void open(session);
});
void open(idInHash());
`;
