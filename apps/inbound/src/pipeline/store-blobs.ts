import type { BlobStore } from '@postrider/blobs';
import type { ParsedMessage } from '@postrider/received-mail';
import type { IncomingAttachment } from '@postrider/store';
import { settleAll } from './settle-all.ts';

/** Attachments of one message that are written at the same time. */
const WRITTEN_AT_ONCE = 4;

/** Writes the contents of attachments. @throws BlobStoreUnavailableError */
export async function storeAttachments(
  blobs: Pick<BlobStore, 'put'>,
  attachments: ParsedMessage['attachments'],
): Promise<IncomingAttachment[]> {
  const stored: IncomingAttachment[] = [];
  for (let at = 0; at < attachments.length; at += WRITTEN_AT_ONCE) {
    const batch = attachments.slice(at, at + WRITTEN_AT_ONCE).map(async ({ content, ...attachment }) => ({
      ...attachment,
      size: content.length,
      blob: await blobs.put(content),
    }));
    stored.push(...(await settleAll(batch)));
  }
  return stored;
}
