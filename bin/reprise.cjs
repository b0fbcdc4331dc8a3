#!/usr/bin/env node
'use strict';
// Old syntax on purpose: an old Node must get as far as the message below.
var major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    'reprise needs Node.js 24 or newer; this is ' +
      process.version +
      '. Install a newer one: https://nodejs.org\n',
  );
  process.exitCode = 2;
} else {
  require('./run.cjs');
}
