/**
 * Imported before a program (`node --import`), it makes the program believe that it runs on another machine: of another
 * name and another boot, which is all that distinguishes machines. Everything else is real.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const read = fs.readFileSync;

fs.readFileSync = ((path: fs.PathOrFileDescriptor, options?: BufferEncoding) =>
  path === BOOT_ID
    ? '00000000-0000-4000-8000-00000000e15e\n'
    : read(path, options as BufferEncoding)) as typeof fs.readFileSync;
os.hostname = () => 'elsewhere';
syncBuiltinESMExports();
