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

/** A test key can only reach test mail, sent and received. */
const TEST_KEY_SCOPES: readonly Scope[] = [
  'emails:send',
  'emails:read',
  'inbound:read',
  'inbound:send',
  'inbound:manage',
];

/** True when a key of this kind can have the scope. Any other scope of the key is ignored. */
export function canHave(kind: KeyKind, scope: Scope): boolean {
  return kind === 'live' || TEST_KEY_SCOPES.includes(scope);
}

/** True when the scopes `held` include `needed`. `inbound:manage` includes `inbound:read`. */
export function grants(held: readonly Scope[], needed: Scope): boolean {
  return held.includes(needed) || (needed === 'inbound:read' && held.includes('inbound:manage'));
}
