import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoadedConfig, loadConfig } from '../../../src/config/load.ts';
import { rememberTrust } from '../../../src/config/trust.ts';

/** A project's folder and a user's, and nothing of the user who runs the tests. */
export class ConfigHome implements Disposable {
  readonly root: string = mkdtempSync(join(tmpdir(), 'reprise-config-'));
  readonly cwd: string = join(this.root, 'project');
  readonly folder: string = join(this.root, 'user', 'reprise');
  readonly projectFile: string = join(this.cwd, 'reprise.config.json');
  readonly userFile: string = join(this.folder, 'config.json');
  readonly env: NodeJS.ProcessEnv = {
    XDG_CONFIG_HOME: join(this.root, 'user'),
    XDG_DATA_HOME: join(this.root, 'data'),
  };

  constructor() {
    mkdirSync(this.cwd, { recursive: true });
    mkdirSync(this.folder, { recursive: true });
  }

  /** Text as it is, everything else as JSON; undefined: no such file. */
  project(content: unknown): this {
    return this.#write(this.projectFile, content);
  }

  user(content: unknown): this {
    return this.#write(this.userFile, content);
  }

  #write(file: string, content: unknown): this {
    if (content === undefined) rmSync(file, { force: true });
    else
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
    return this;
  }

  load(env: NodeJS.ProcessEnv = {}, flags: Record<string, unknown> = {}): Promise<LoadedConfig> {
    return loadConfig({ env: { ...this.env, ...env }, cwd: this.cwd, flags });
  }

  /** What `reprise config trust` does. */
  async trust(): Promise<void> {
    const { files } = await this.load();
    if (files.trust !== undefined) rememberTrust(files.folder, files.trust);
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
