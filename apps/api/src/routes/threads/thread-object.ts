import type { Thread } from '@postrider/store';

/** What the list says of a thread, in the shape of Resend's. There are no folders, labels or drafts. */
export function threadObject(thread: Thread) {
  return {
    id: thread.id,
    subject: thread.subject,
    from: thread.from,
    to: thread.to ?? [],
    cc: thread.cc ?? [],
    bcc: thread.bcc ?? [],
    labels: [],
    email_count: thread.emailCount,
    has_attachment: thread.hasAttachment,
    has_draft: false,
    read: thread.read,
    received_at: thread.lastAt.toISOString(),
    folder: 'inbox',
  };
}

/** What the answers about one thread say of it. */
export function threadSummary({ id, subject, read }: Thread) {
  return { object: 'inbox_thread', id, subject, folder: 'inbox', labels: [], read };
}
