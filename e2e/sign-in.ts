/** Signs in to the console at this URL. @returns a function that opens a page by its path */
export async function signIn(url: string, key: string): Promise<(path: string) => Promise<Response>> {
  const signedIn = await fetch(`${url}/sign-in`, {
    method: 'POST',
    headers: { origin: url },
    body: new URLSearchParams({ key }),
    redirect: 'manual',
  });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return (path) => fetch(`${url}${path}`, { headers: { cookie } });
}
