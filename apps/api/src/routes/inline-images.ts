import type { BlobId } from '@postrider/blobs';
import { LIMITS } from '@postrider/domain';
import type { MessageAttachment } from '@postrider/store';
import type { BlobReader } from './links.ts';

/** A `src` with the Content-ID of an attachment (RFC 2392). Its sender may have percent-encoded the id. */
const REFERENCE = /(\ssrc\s*=\s*["']?)cid:([^"'\s<>]+)/gi;
/** A stranger wrote the HTML: 1 MiB has space for 100,000 references. The first 1,000 are replaced. */
const REFERENCES_MAX = 1_000;
/** `decodeURIComponent` throws for other percent signs. */
const ESCAPE = /%[0-9a-f]{2}/i;
/** An image type that needs no quoting within an attribute. */
const IMAGE_TYPE = /^image\/[a-z0-9][a-z0-9.+-]{0,60}$/i;

/**
 * Replaces each reference to an image of the message with a `data:` URI. A reference that names no image
 * stays. When the next image would exceed `LIMITS.inlineImageBytes`, all references from there on stay. An
 * image counts once for each reference.
 *
 * @throws BlobStoreUnavailableError
 */
export async function withInlineImages(
  html: string,
  attachments: readonly MessageAttachment[],
  blobs: Pick<BlobReader, 'read'>,
): Promise<string> {
  const images = new Map(
    attachments.flatMap((file): [string, MessageAttachment][] =>
      file.contentId !== null && IMAGE_TYPE.test(file.contentType) ? [[bare(file.contentId), file]] : [],
    ),
  );
  if (images.size === 0) return html;
  const referred = referredImages(html, images);
  const uris = new Map<MessageAttachment, string>();
  for (const file of new Set(referred)) {
    if (file === undefined) continue;
    const bytes = await blobs.read(file.blob as BlobId);
    if (bytes !== null) uris.set(file, `data:${file.contentType};base64,${bytes.toString('base64')}`);
  }
  let index = 0;
  return html.replaceAll(REFERENCE, (whole, before: string) => {
    const file = referred[index];
    index += 1;
    const uri = file === undefined ? undefined : uris.get(file);
    return uri === undefined ? whole : `${before}${uri}`;
  });
}

/** The image of each reference, up to the first that does not fit; undefined: a reference names no image. */
function referredImages(
  html: string,
  images: ReadonlyMap<string, MessageAttachment>,
): (MessageAttachment | undefined)[] {
  const files: (MessageAttachment | undefined)[] = [];
  let bytes = 0;
  for (const [, , reference = ''] of html.matchAll(REFERENCE)) {
    const file = images.get(decoded(reference));
    bytes += file?.size ?? 0;
    if (files.length === REFERENCES_MAX || bytes > LIMITS.inlineImageBytes) break;
    files.push(file);
  }
  return files;
}

function bare(contentId: string): string {
  return contentId.replace(/^<|>$/g, '');
}

function decoded(reference: string): string {
  if (!ESCAPE.test(reference)) return reference;
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference; // not UTF-8, or a percent sign that begins no escape
  }
}
