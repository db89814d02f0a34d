/** A page with `useChat`, for Chromium: what a guide of AI SDK UI shows, without styles. */
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { createElement as h } from "react";
import { createRoot } from "react-dom/client";

function Chat({ messages: initial }) {
  const { messages, status, sendMessage, addToolApprovalResponse, stop } = useChat({
    ...{ id: "s", messages: initial, resume: true, transport: new DefaultChatTransport({ api: "/chat" }) },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const partOf = (part, at) => {
    if (part.type === "text") return h("p", { key: at }, `text: ${part.text}`);
    if (part.type === "reasoning") return h("p", { key: at }, `thinks: ${part.text}`);
    if (part.type !== "dynamic-tool") return null;
    const { toolName, state } = part;
    const words = `${toolName} ${state === "output-available" ? JSON.stringify(part.output) : state}`;
    const button = (name, approved) =>
      part.state === "approval-requested" &&
      h("button", { type: "button", onClick: () => addToolApprovalResponse({ id: part.approval.id, approved }) }, name);
    return h("div", { key: at }, h("p", null, words), button("Approve", true), button("Deny", false));
  };
  const end = async () => {
    await fetch("/chat/s/stop", { method: "POST" });
    await stop();
  };
  return h(
    "main",
    null,
    ...messages.map(({ id, parts }) => h("section", { key: id }, ...parts.map(partOf))),
    ...["Count.", "Count slowly.", "Pay."].map((text) =>
      h("button", { type: "button", key: text, onClick: () => sendMessage({ text }) }, text),
    ),
    h("button", { type: "button", onClick: end }, "Stop"),
    h("output", null, status),
  );
}

const messages = await (await fetch("/chat/s")).json();
createRoot(document.getElementById("app")).render(h(Chat, { messages }));
