import type { JSX } from 'preact';
import { type Language, language, setLanguage, t } from '../i18n/strings.ts';
import { setTheme, type Theme, theme } from '../shell/theme.ts';
import { Dialog } from '../ui/dialog.tsx';

export function SettingsDialog(): JSX.Element {
  return (
    <Dialog title={t('settings')}>
      <div class="stack">
        <label for="theme">{t('theme')}</label>
        <select
          id="theme"
          value={theme.value}
          onChange={(event) => setTheme(event.currentTarget.value as Theme)}
        >
          <option value="auto">{t('themeAuto')}</option>
          <option value="light">{t('themeLight')}</option>
          <option value="dark">{t('themeDark')}</option>
        </select>
        <label for="language">{t('language')}</label>
        <select
          id="language"
          value={language.value}
          onChange={(event) => void setLanguage(event.currentTarget.value as Language)}
        >
          <option value="en">English</option>
          <option value="zh">中文</option>
        </select>
      </div>
    </Dialog>
  );
}
