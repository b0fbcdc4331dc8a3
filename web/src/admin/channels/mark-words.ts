/**
 * Highlights words with the CSS Custom Highlight API (`::highlight(found)`), across element boundaries and without
 * changing the DOM. In browsers without it only the frame around the line shows the match.
 */
export function markWords(root: HTMLElement, words: string): void {
  const wanted = words.toLowerCase();
  if (wanted === '' || !('highlights' in CSS)) return;
  const found: Range[] = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node !== null; node = walk.nextNode()) {
    const text = (node.textContent ?? '').toLowerCase();
    // In a few languages lower case changes the length of a text, so positions would not match.
    if (text.length !== node.textContent?.length) continue;
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      found.push(range);
    }
  }
  CSS.highlights.set('found', new Highlight(...found));
}
