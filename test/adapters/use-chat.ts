/** The chat of the package `ai`, as `useChat` runs it, without a page. */
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithToolCalls as hasOutputs,
  lastAssistantMessageIsCompleteWithApprovalResponses as isAnswered,
  type UIMessage,
} from "ai";

import { eventually } from "../kit/reading.ts";

class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];
  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  pushMessage = (message: UIMessage): void => void (this.messages = [...this.messages, message]);
  popMessage = (): void => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: UIMessage): void =>
    void (this.messages = this.messages.with(index, structuredClone(message)));
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

class Chat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    const sendAutomaticallyWhen = (chat: { messages: UIMessage[] }) => isAnswered(chat) || hasOutputs(chat);
    super({ ...init, state: new State(messages), sendAutomaticallyWhen });
  }
}

export type { Chat };

/** A page that is loaded: with the messages that the server has. Call `resumeStream()` as `resume: true` does. */
export async function loaded(url: string, id: string, headers: Record<string, string> = {}): Promise<Chat> {
  const messages = (await (await fetch(`${url}/chat/${id}`, { headers })).json()) as UIMessage[];
  return new Chat({ id, messages, transport: new DefaultChatTransport({ api: `${url}/chat`, headers }) });
}

/** What a chat shows, in short: `user: Go`, `thinks: Hm.`, `text: Done.`, `pay denied`, `work "done"`. */
export const shownBy = ({ messages }: { readonly messages: readonly UIMessage[] }): readonly string[] =>
  messages.flatMap(({ role, parts }) =>
    parts.flatMap((part) => {
      if (part.type === "text") return [`${role === "user" ? "user" : "text"}: ${part.text}`];
      if (part.type === "reasoning") return [`thinks: ${part.text}`];
      if (part.type !== "dynamic-tool") return [];
      const { toolName, state } = part;
      if (state === "output-available") return [`${toolName} ${JSON.stringify(part.output)}`];
      return [`${toolName} ${state === "output-error" ? `failed: ${part.errorText}` : state}`];
    }),
  );

/** The open question of the last message. */
export const askedIn = ({ messages }: { readonly messages: readonly UIMessage[] }): string | undefined =>
  messages.at(-1)?.parts.flatMap((part) => {
    if (part.type !== "dynamic-tool" || part.state !== "approval-requested") return [];
    return [part.approval.id];
  })[0];

/** Answers the open question. Resolves when the turn has ended or waits again. */
export async function answer(chat: Chat, approved: boolean): Promise<void> {
  await chat.addToolApprovalResponse({ id: askedIn(chat) ?? "", approved });
  const isTaken = (): boolean =>
    chat.status === "error" || !shownBy(chat).some((each) => each.endsWith(" approval-responded"));
  await eventually(() => isTaken() && !["submitted", "streaming"].includes(chat.status));
}
