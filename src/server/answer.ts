// An answer with a text body, before it becomes a `Response`. Making a `Response` and reading its body takes longer
// than all other work of a short answer. So the listener of Node writes the text itself.

export type HeaderList = { readonly [name: string]: string };

export class Answer {
  readonly text: string;
  readonly status: number;
  readonly headers: HeaderList;

  constructor(text: string, type: string, status: number, headers: HeaderList = {}) {
    this.text = text;
    this.status = status;
    this.headers = { "content-type": type, ...headers };
  }
}

/** What `fetch` returns: the answer with the headers that each answer has. */
export function responseOf(answer: Answer | Response, common: HeaderList): Response {
  if (answer instanceof Answer)
    return new Response(answer.text, { status: answer.status, headers: { ...answer.headers, ...common } });
  for (const [name, value] of Object.entries(common)) answer.headers.set(name, value);
  return answer;
}
