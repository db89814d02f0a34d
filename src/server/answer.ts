// An answer of text, before it is a `Response`. To make one, and to read its body again, takes longer than all else that a
// short answer needs, so the listener of Node writes the text itself.

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
