import type { MessageStore } from '@postrider/store';
import type { Route } from '../route.ts';
import { getAttachment, listAttachments } from './attachments.ts';
import { openLink } from './download.ts';
import type { BlobReader } from './download.ts';
import { getMessage } from './get.ts';
import type { LinkMaker } from './link.ts';
import { listMessages } from './list.ts';
import { getRaw } from './raw.ts';
import { releaseMessage } from './release.ts';

export interface MessageRouteParts {
  readonly links: LinkMaker;
  readonly blobs: BlobReader;
}

/** Received mail; links to its bytes are for whoever has one. */
export function messageRoutes(messages: MessageStore, { links, blobs }: MessageRouteParts): readonly Route[] {
  const read = { method: 'get', scope: 'inbound:read', limited: true, body: 'ignored' } as const;
  const manage = { method: 'post', scope: 'inbound:manage', limited: true, body: 'ignored' } as const;
  const keyless = { method: 'get', scope: null, body: 'ignored' } as const;
  const all = '/v1/inbound/messages';
  const one = `${all}/:id`;
  const attachments = `${one}/attachments`;
  return [
    { ...read, path: all, handle: listMessages(messages) },
    { ...read, path: one, handle: getMessage(messages) },
    { ...read, path: `${one}/raw`, handle: getRaw(messages, links) },
    { ...read, path: attachments, handle: listAttachments(messages, links) },
    { ...read, path: `${attachments}/:attachment`, handle: getAttachment(messages, links) },
    { ...manage, path: `${one}/release`, handle: releaseMessage(messages) },
    { ...keyless, path: '/links/:id', handle: openLink(messages, links, blobs) },
  ];
}
