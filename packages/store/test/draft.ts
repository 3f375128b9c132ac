import type { EmailDraft } from '@postrider/domain';

/** A message that has everything once, `html` without `text`, and non-ASCII where it may be; `change` over it. */
export function draftOf(change: Partial<EmailDraft> = {}): EmailDraft {
  return {
    from: 'Ada <ada@a.example>',
    to: ['b@b.example', 'c@c.example'],
    cc: ['d@d.example'],
    bcc: ['e@e.example'],
    replyTo: ['f@f.example'],
    subject: 'Grüße',
    html: '<p>☃ "{}\\,\n</p>',
    text: null,
    headers: { 'X-B': '1', 'X-A': '2', '10': '3' },
    attachments: [],
    tags: [{ name: 'order', value: '17' }],
    topicId: null,
    ...change,
  };
}
