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

/** Whether a key with the scopes `held` may do what `needed` names; `inbound:manage` implies `inbound:read`. */
export function grants(held: readonly Scope[], needed: Scope): boolean {
  return held.includes(needed) || (needed === 'inbound:read' && held.includes('inbound:manage'));
}
