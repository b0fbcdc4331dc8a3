/** Pages that were not loaded over TLS from another machine have no clipboard but the old one. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'offscreen';
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}
