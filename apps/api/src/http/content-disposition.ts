import { LIMITS } from '@postrider/domain';

/** Control and format characters, including those that reverse the text direction, and lone surrogates. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** These have a special meaning for file systems, shells or browsers. */
const UNSAFE = /[\\/:*?"<>|]/g;
/** `encodeURIComponent` keeps these, but `attr-char` of RFC 8187 3.2.1 excludes them. */
const NOT_ATTR_CHAR = /['()*]/g;

/**
 * The Content-Disposition that makes a browser save the file under a safe form of this name.
 *
 * `filename` is ASCII, for old clients. A name with other characters is also in `filename*` (RFC 6266 4.3).
 *
 * @param name untrusted.
 */
export function attachmentDisposition(name: string): string {
  const safe = safeName(name);
  // Some browsers decode a percent-escape in `filename` (RFC 6266 D).
  const ascii = safe.replaceAll(/[^ -~]|%/gu, '_');
  const quoted = `attachment; filename="${ascii}"`;
  return ascii === safe ? quoted : `${quoted}; filename*=UTF-8''${percentEncoded(safe)}`;
}

/**
 * Headers for bytes that a stranger wrote. A browser saves them, and runs nothing in them.
 *
 * @param name untrusted.
 */
export function downloadHeaders(name: string): Readonly<Record<string, string>> {
  return { 'content-security-policy': 'sandbox', 'content-disposition': attachmentDisposition(name) };
}

/** Returns a name without a folder, without a leading dot (which hides a file), and never empty. */
function safeName(name: string): string {
  const shown = name.replaceAll(UNSHOWABLE, '').replaceAll(UNSAFE, '_').trim();
  const cut = Array.from(shown.replace(/^\.+/, '_')).slice(0, LIMITS.filenameLength).join('');
  return cut === '' ? 'attachment' : cut;
}

function percentEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    NOT_ATTR_CHAR,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
