/**
 * Signs in to the console at this URL.
 *
 * @returns a function that opens a page by its path
 * @throws when the console refuses the key
 */
export async function signIn(url: string, key: string): Promise<(path: string) => Promise<Response>> {
  const signedIn = await fetch(`${url}/sign-in`, {
    method: 'POST',
    headers: { origin: url },
    body: new URLSearchParams({ key }),
    redirect: 'manual',
  });
  if (signedIn.status !== 303) throw new Error(`the sign-in was answered with ${signedIn.status}`);
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return (path) => fetch(`${url}${path}`, { headers: { cookie } });
}
