import { defineConfig } from 'vite'
import { VitePWA } from 'vite-plugin-pwa'

const server = 'http://127.0.0.1:8080'

export default defineConfig({
  // A service worker that keeps the built files, so that the page also loads offline.
  plugins: [VitePWA({ workbox: { globPatterns: ['**/*.{html,js,css}'] } })],
  // While you develop, Vite has the page, and server.js the rest.
  server: { proxy: { '/databases': server, '/api': server } },
})
