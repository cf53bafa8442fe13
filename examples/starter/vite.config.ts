import { defineConfig } from 'vite'
import { VitePWA } from 'vite-plugin-pwa'

// The server sees the name under which the page is open.
const server = { target: 'http://127.0.0.1:8080', changeOrigin: false }

const workbox = {
  globPatterns: ['**/*.{html,js,css}'],
  // Nobody who opens an address of the server wants the page.
  navigateFallbackDenylist: [/^\/(api|databases)\//],
}

export default defineConfig({
  // A service worker that keeps the built files, so that the page also loads offline.
  plugins: [VitePWA({ workbox })],
  // While you develop, Vite has the page, and server.js the rest.
  server: { proxy: { '/databases': server, '/api': server } },
})
