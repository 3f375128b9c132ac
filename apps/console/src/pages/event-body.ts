import type { FoundEvent } from './event-parts.ts';

/** The body that attempts send, without the text of received mail: its length is shown in its place. */
export function shownBody(
  event: FoundEvent,
  subject: string,
): { readonly pretty: string; readonly line: string } {
  const data = JSON.parse(event.data) as Readonly<Record<string, unknown>>;
  const body = {
    id: event.id,
    type: event.type,
    subject,
    created_at: event.createdAt.toISOString(),
    data: typeof data['text'] === 'string' ? { ...data, text: lengthOf(data['text']) } : data,
  };
  return { pretty: JSON.stringify(body, null, 2), line: JSON.stringify(body) };
}

function lengthOf(text: string): string {
  return `(${Buffer.byteLength(text)} bytes, not shown)`;
}
