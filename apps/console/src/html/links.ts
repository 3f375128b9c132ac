/** `?type=email.sent&after=evt_1`, without absent and empty values. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if ((value ?? '') !== '') given.set(name, value ?? '');
  return given.size === 0 ? '' : `?${given.toString()}`;
}

const PAGES: Readonly<Record<string, string>> = {
  evt: '/events/',
  wh: '/webhooks/',
  acct: '/accounts/',
  msg: '/messages/',
  em: '/emails/',
  rec: '/recoveries/',
};

/** The page of a thing. Null: it has none. */
export function pagePath(id: string): string | null {
  const path = PAGES[id.split('_')[0] ?? ''];
  return path === undefined ? null : `${path}${id}`;
}
