import type { Readable } from 'node:stream';
import type { AlsoStatus, FieldFault, ProblemSlug } from '@postrider/domain';

/** The answer of an HTTP route, or of a stage before it. `send` writes it to the connection. */
export type Answer = JsonAnswer | HtmlAnswer | FileAnswer | PlainTextAnswer | ProblemAnswer;

export interface JsonAnswer<Body extends object = object> {
  readonly kind: 'json';
  readonly status: 200 | 201 | 202;
  readonly body: Body;
  /**
   * The number of deliveries that the request wrote, on routes without a rate limit. A suppression or topic
   * without a delivery counts as 1. Default: 0.
   */
  readonly written?: number;
}

/** A complete HTML document for a person. */
export interface HtmlAnswer {
  readonly kind: 'html';
  readonly html: string;
}

/** Bytes that `send` streams. The route sets the headers, such as those of a download. */
export interface FileAnswer {
  readonly kind: 'file';
  /** 416: `stream` is null, and `headers` give the file's size. */
  readonly status: 200 | 206 | 416;
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Content-Length in bytes. A HEAD has the length of its GET. */
  readonly length: number;
  /** Memory that the stream takes while the client does not read. Absent: at most `PIECE_BYTES`. */
  readonly heldBytes?: number;
  /** The account that `heldBytes` counts for when the request has no key. Absent: one owner for all. */
  readonly owner?: string;
  /** Holds `length` bytes; null: no body. `send` streams it, and destroys it when the client disconnects. */
  readonly stream: Readable | null;
}

/** The API answers these refusals in plain text instead of a problem document (contract 7.1; 413: 7.2). */
export interface PlainTextAnswer {
  readonly kind: 'plain-text';
  readonly status: 400 | 413 | 422;
  readonly text: string;
}

export interface ProblemAnswer {
  readonly kind: 'problem';
  readonly slug: ProblemSlug;
  /** Replaces the usual status where the catalogue lists a second one. */
  readonly status?: AlsoStatus;
  readonly detail?: string;
  readonly errors?: readonly FieldFault[];
}

/** Longer answers are written in pieces. Each piece that the socket takes shows that the client reads. */
export const PIECE_BYTES = 64 * 1024;

export function* inPieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Routes name the type of the body, so that the compiler checks it against its schema. */
export function json<Body extends object>(status: JsonAnswer['status'], body: Body): JsonAnswer<Body> {
  return { kind: 'json', status, body };
}

export function plainText(status: PlainTextAnswer['status'], text: string): PlainTextAnswer {
  return { kind: 'plain-text', status, text };
}
