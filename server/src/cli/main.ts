#!/usr/bin/env node
/**
 * Where the program `offline-hilo-server` begins. The commands are loaded on demand: a bundler may
 * then put code that they share with the library anywhere but into this file, which the library
 * must not load, since it would start a server.
 */
void import('./program.js').then(({ run }) => run())
