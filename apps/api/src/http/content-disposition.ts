import { LIMITS } from '@postrider/domain';

/** Control and format characters (among them those that turn the direction of writing), and halves of pairs. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** What a file system, a shell or a browser reads in its own way. */
const UNSAFE = /[\\/:*?"<>|]/g;
/** RFC 8187 3.2.1: what `encodeURIComponent` leaves and `attr-char` does not have. */
const NOT_ATTR_CHAR = /['()*]/g;

/**
 * A header that has a browser save what comes, under this name at the most.
 *
 * RFC 6266 4.3: `filename` is in ASCII for who knows nothing else; a name that has more is in `filename*`, too.
 *
 * @param name as a stranger wrote it.
 */
export function attachmentDisposition(name: string): string {
  const safe = safeName(name);
  const ascii = safe.replaceAll(/[^ -~]|%/gu, '_');
  const quoted = `attachment; filename="${ascii}"`;
  return ascii === safe ? quoted : `${quoted}; filename*=UTF-8''${percentEncoded(safe)}`;
}

/** A name without a folder, that neither hides a file nor is empty. */
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
