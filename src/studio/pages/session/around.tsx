// What all rows of a conversation share: what the page gives them, and attachments.
import type { JSX } from "preact";
import { bytes, shown } from "../../format.ts";
import { Icon } from "../../parts/icons.tsx";
import type { TurnRecord } from "../../types.ts";
import type { Attachment } from "./items.ts";

/** What rows get from the page. It changes only when all rows have to be drawn again. */
export interface Around {
  readonly session: string;
  /** Whether an item was unfolded by hand. */
  isOpen(key: string): boolean | undefined;
  setOpen(key: string, isOpen: boolean): void;
  turn(id: string): TurnRecord | undefined;
  wantTurn(id: string): void;
  /** The sessions that were made as children while a turn ran. */
  childrenOf(turn: TurnRecord): readonly string[];
}

const IMAGES = /^image\/(?:png|jpeg|gif|webp)$/;

export function Attachments({
  of,
  session,
}: {
  readonly of: readonly Attachment[];
  readonly session: string;
}): JSX.Element | null {
  if (of.length === 0) return null;
  return (
    <ul class="files">
      {of.map(({ hash, mediaType, name, bytes: size }, n) => {
        const url = `/v1/sessions/${encodeURIComponent(session)}/blobs/${encodeURIComponent(hash)}`;
        const title = shown(name ?? mediaType);
        return (
          <li key={`${hash} ${n}`}>
            <a href={url} download={name === undefined ? hash : title} target="_blank" rel="noreferrer" title={title}>
              {IMAGES.test(mediaType) ? (
                <img src={url} alt={title} loading="lazy" />
              ) : (
                <span class="file">
                  <Icon name="attachment" />
                  <span class="file-name">
                    <bdi>{title}</bdi>
                  </span>
                  <span class="dim">{bytes(size)}</span>
                </span>
              )}
            </a>
          </li>
        );
      })}
    </ul>
  );
}
