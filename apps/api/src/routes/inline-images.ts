import type { BlobId } from '@postrider/blobs';
import { LIMITS } from '@postrider/domain';
import type { MessageAttachment } from '@postrider/store';
import type { BlobReader } from './links.ts';

/** A `src` with the Content-ID of an attachment (RFC 2392). Its sender may have percent-encoded the id. */
const REFERENCE = /(\ssrc\s*=\s*["']?)cid:([^"'\s<>]+)/gi;
/** An image type that needs no quoting within an attribute. */
const IMAGE_TYPE = /^image\/[a-z0-9][a-z0-9.+-]{0,60}$/i;

/**
 * Puts the images of a message in the places that refer to them, as `data:` URIs. A reference stays when it
 * names no image, and when all images would exceed `LIMITS.inlineImageBytes`. An image counts as often as it
 * is referred to: a stranger wrote the HTML.
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
  const fitting = fittingImages(html, images);
  const uris = new Map<MessageAttachment, string>();
  for (const file of new Set(fitting)) {
    const bytes = await blobs.read(file.blob as BlobId);
    if (bytes !== null) uris.set(file, `data:${file.contentType};base64,${bytes.toString('base64')}`);
  }
  let index = 0;
  return html.replaceAll(REFERENCE, (whole, before: string, reference: string) => {
    const file = images.get(decoded(reference));
    if (file === undefined || index >= fitting.length) return whole;
    index += 1;
    const uri = uris.get(file);
    return uri === undefined ? whole : `${before}${uri}`;
  });
}

/** The images in the order of their references, up to the first that does not fit. */
function fittingImages(html: string, images: ReadonlyMap<string, MessageAttachment>): MessageAttachment[] {
  const files = [...html.matchAll(REFERENCE)].flatMap(
    ([, , reference = '']) => images.get(decoded(reference)) ?? [],
  );
  let bytes = 0;
  const over = files.findIndex(({ size }) => (bytes += size) > LIMITS.inlineImageBytes);
  return over === -1 ? files : files.slice(0, over);
}

function bare(contentId: string): string {
  return contentId.replace(/^<|>$/g, '');
}

function decoded(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference; // a percent sign of its own
  }
}
