/** `?type=email.sent&after=evt_1`, without absent and empty values. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if ((value ?? '') !== '') given.set(name, value ?? '');
  return given.size === 0 ? '' : `?${given.toString()}`;
}
