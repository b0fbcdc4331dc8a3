#!/usr/bin/env node
'use strict';
// Old syntax on purpose: an old Node must get as far as the message below.
var next = '';
var major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  next = 'Install a newer one: https://nodejs.org';
  try {
    require.resolve('../node_modules/node/package.json');
    next = 'This clone brings one: npm start, or npx reprise';
  } catch (_error) {
    // An installed package has no Node of its own.
  }
  process.stderr.write('reprise needs Node.js 24 or newer; this is ' + process.version + '. ' + next + '\n');
  process.exitCode = 2;
} else {
  require('./run.cjs');
}
