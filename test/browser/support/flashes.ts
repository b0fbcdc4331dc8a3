import type { Page } from 'playwright-core';

/** A hit lights up for a moment only; this remembers what did, however late it is asked. */
export async function rememberFlashes(page: Page): Promise<() => Promise<string>> {
  const seen = await page.evaluateHandle(() => {
    const texts: string[] = [];
    new MutationObserver((changes) => {
      for (const { target } of changes)
        if (target instanceof HTMLElement && target.classList.contains('flash'))
          texts.push(target.textContent);
    }).observe(document.body, { subtree: true, attributeFilter: ['class'] });
    return texts;
  });
  return async () => (await seen.jsonValue()).join('\n');
}
