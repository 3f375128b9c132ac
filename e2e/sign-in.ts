import type { SystemProcess } from '@postrider/testing';

/** Signs in to the console of a process. @returns what opens a page by its path */
export async function signIn(
  console: SystemProcess,
  key: string,
): Promise<(path: string) => Promise<Response>> {
  const url = `http://127.0.0.1:${await console.port('console')}`;
  const signedIn = await fetch(`${url}/sign-in`, {
    method: 'POST',
    headers: { origin: url },
    body: new URLSearchParams({ key }),
    redirect: 'manual',
  });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return (path) => fetch(`${url}${path}`, { headers: { cookie } });
}
