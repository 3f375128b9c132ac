export const FILE = { filename: 'a.txt', content: 'aGk=' };

/** A value for each optional field of a message. @param topic its id */
export const emailFields = (topic: string) => ({
  cc: 'c@b.example',
  bcc: 'd@b.example',
  reply_to: 'e@b.example',
  html: '<p>Hello</p>',
  text: 'Other',
  headers: { 'X-A': '1' },
  tags: [{ name: 'a', value: 'b' }],
  attachments: [FILE],
  topic_id: topic,
  scheduled_at: 'in 1 min',
  template: { id: 'a' },
});
