import type { CauseEntry, History, StoredEvent, Violation } from './history.ts';

/** I3: causes without events, events without causes, and acknowledged causes that do not exist. */
export interface CauseFindings {
  readonly causesWithoutEvents: number;
  readonly eventsWithoutCauses: number;
  readonly violations: readonly Violation[];
}

export function findCauseFaults(history: History): CauseFindings {
  const without = causesWithoutEvents(history);
  const orphans = eventsWithoutCauses(history);
  return {
    causesWithoutEvents: without.length,
    eventsWithoutCauses: orphans.length,
    violations: [...without, ...orphans, ...broken(history)],
  };
}

function causesWithoutEvents(history: History): Violation[] {
  const { store } = history;
  const events = new Map(store.events.map((event) => [event.id, event]));
  const results = Map.groupBy(store.events.filter(isSendResult), (event) => event.emailId);
  const direct = store.causes
    .filter((cause) => !events.has(cause.eventId))
    .map((cause) => fault(`cause ${cause.id} has no event ${cause.eventId}`));
  const emails = store.emails.flatMap((email) => {
    const wanted = email.status === 'sent' || email.status === 'failed' ? [`email.${email.status}`] : [];
    const found = (results.get(email.id) ?? []).map((event) => event.type);
    if (String(found) === String(wanted)) return [];
    return [fault(`email ${email.id} is ${email.status} and has the events [${String(found)}]`)];
  });
  return [...direct, ...emails, ...messagesWithoutEvents(history)];
}

/** A message that came in has exactly one event: the harness releases none. */
function messagesWithoutEvents({ store }: History): Violation[] {
  const events = Map.groupBy(store.events, (event) => event.messageId);
  return store.messages.flatMap(({ id, status }) => {
    const found = (events.get(id) ?? []).map((event) => event.type);
    if (String(found) === `message.${status}`) return [];
    return [fault(`message ${id} is ${status} and has the events [${String(found)}]`)];
  });
}

function eventsWithoutCauses({ store }: History): Violation[] {
  const direct = new Set(store.causes.map((cause) => cause.eventId));
  const mail = new Set([...store.emails, ...store.messages].map(({ id }) => id));
  return store.events
    .filter((event) => !direct.has(event.id) && !mail.has(event.emailId ?? event.messageId ?? ''))
    .map((event) => fault(`event ${event.id} (${event.type}) has no cause`));
}

/** Every answer that the producer got must be true. */
function broken({ causes, store }: History): Violation[] {
  const direct = new Set(store.causes.map((cause) => cause.id));
  const bySubject = Map.groupBy(store.emails, (email) => email.subject);
  const byHeader = Map.groupBy(store.messages, (message) => message.header);
  const idsOf = ({ kind, cause }: CauseEntry): string[] => {
    switch (kind) {
      case 'direct':
        return [cause].filter((id) => direct.has(id));
      case 'email':
        return (bySubject.get(cause) ?? []).map(({ id }) => id);
      case 'message':
        return (byHeader.get(cause) ?? []).map(({ id }) => id);
    }
  };
  return causes.flatMap((entry) => brokenEntry(entry, idsOf(entry)));
}

function brokenEntry(entry: CauseEntry, ids: readonly string[]): Violation[] {
  const what = `${entry.kind} cause ${entry.cause}`;
  if (ids.length > 1) return [fault(`${what} was stored ${ids.length} times`)];
  if (entry.outcome === 'failed' && ids.length > 0) return [fault(`${what} was refused and yet stored`)];
  if (entry.outcome !== 'ok') return [];
  if (ids.length === 0) return [fault(`${what} was acknowledged and is not there`)];
  if (entry.kind === 'email' && ids[0] !== entry.id) return [fault(`${what} was answered with another id`)];
  return [];
}

function isSendResult(event: StoredEvent): boolean {
  return event.type === 'email.sent' || event.type === 'email.failed';
}

function fault(text: string): Violation {
  return { invariant: 'I3', text };
}
