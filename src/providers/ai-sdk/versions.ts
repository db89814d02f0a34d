import type { LanguageModel } from "../provider.ts";

export type Version = LanguageModel["specificationVersion"];

export interface LoadedFile {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  readonly name?: string;
}

/** The differences between versions of the specification. Everything else is sent in the same form. */
interface Dialect {
  /** The field `data` of a file in a message. */
  fileData(bytes: Uint8Array): unknown;
  /** A file in a tool's result. */
  resultFile(file: LoadedFile): object;
  readonly hasReasoning: boolean;
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

const isImage = (file: LoadedFile): boolean => file.mediaType.startsWith("image/");

export const named = ({ name }: LoadedFile): { filename?: string } => (name === undefined ? {} : { filename: name });

export const DIALECTS: { readonly [V in Version]: Dialect } = {
  v2: {
    fileData: (bytes) => bytes,
    resultFile: (file) => ({ type: "media", data: base64(file.bytes), mediaType: file.mediaType }),
    hasReasoning: false,
  },
  v3: {
    fileData: (bytes) => bytes,
    resultFile: (file) => {
      const data = { data: base64(file.bytes), mediaType: file.mediaType };
      return isImage(file) ? { type: "image-data", ...data } : { type: "file-data", ...data, ...named(file) };
    },
    hasReasoning: false,
  },
  v4: {
    fileData: (bytes) => ({ type: "data", data: bytes }),
    resultFile: (file) => {
      const data = { type: "data", data: base64(file.bytes) };
      return { type: "file", data, mediaType: file.mediaType, ...named(file) };
    },
    hasReasoning: true,
  },
};

export const VERSIONS = Object.keys(DIALECTS) as readonly Version[];
