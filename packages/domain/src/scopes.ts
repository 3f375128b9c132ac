import type { KeyKind } from './api-key.ts';

export const SCOPES = [
  'emails:send',
  'emails:read',
  'domains:manage',
  'webhooks:manage',
  'inbound:read',
  'inbound:send',
  'inbound:manage',
  'suppressions:manage',
] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

/** A test key reaches no further than its own mail, sent and received. */
const TEST_KEY_SCOPES: readonly Scope[] = [
  'emails:send',
  'emails:read',
  'inbound:read',
  'inbound:send',
  'inbound:manage',
];

/** Whether a key of this kind can have the scope. One that it was given all the same counts as absent. */
export function canHave(kind: KeyKind, scope: Scope): boolean {
  return kind === 'live' || TEST_KEY_SCOPES.includes(scope);
}

/** Whether a key with the scopes `held` may do what `needed` names; `inbound:manage` implies `inbound:read`. */
export function grants(held: readonly Scope[], needed: Scope): boolean {
  return held.includes(needed) || (needed === 'inbound:read' && held.includes('inbound:manage'));
}
