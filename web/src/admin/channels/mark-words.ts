/**
 * Marks words where they stand, whatever the nodes around them: the browser paints them (`::highlight(found)`), and
 * nothing of what was said is changed for it. A browser that cannot leaves the frame around the line.
 */
export function markWords(root: HTMLElement, words: string): void {
  const wanted = words.toLowerCase();
  if (wanted === '' || !('highlights' in CSS)) return;
  const found: Range[] = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node !== null; node = walk.nextNode()) {
    const text = (node.textContent ?? '').toLowerCase();
    // In a few languages small letters are longer than capital ones; then the places are not the same.
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
