// Package ui tests the page of "kubectl helloworld ui" in a real browser, headless Chromium, against a real hub whose objects the
// tests write: no cluster and no controller runs. It needs chromium, and npm for axe-core, which checks accessibility.
package ui
