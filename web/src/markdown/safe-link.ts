/** Only where a browser asks or a mail program opens; everything else is shown as the text it is. */
const SAFE = /^(?:https?:\/\/|mailto:)[^\s]+$/i;
const CONTROL = /[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/;

export function safeLink(href: string): string | undefined {
  if (CONTROL.test(href) || !SAFE.test(href)) return undefined;
  try {
    const { protocol, href: whole } = new URL(href);
    return protocol === 'http:' || protocol === 'https:' || protocol === 'mailto:' ? whole : undefined;
  } catch {
    return undefined; // no address at all
  }
}
